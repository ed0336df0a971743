from django.http import HttpResponse
from django.urls import path


def index(request):
    return HttpResponse("<h1>Fruit from Django</h1>")


urlpatterns = [path("", index)]
